{{/* Environment of a variant for the database and the downstream service, as JSON: name -> value, or where it comes from.
vtlab knows these names. */}}
{{- define "lab.companionEnvironment" -}}
{{- $environment := dict }}
{{- with .Values.database }}
{{- if .enabled }}
{{- if and .url (not .existingSecret) }}
{{- fail "database.url is set: set database.existingSecret, too, a Secret with the key `password`" }}
{{- end }}
{{- /* In the clear, as vtlab's on one machine: encrypting would be part of what is measured. */}}
{{- $bundled := printf "jdbc:mysql://%s:3306/%s?sslMode=DISABLED" (include "lab.database.name" $) .name }}
{{- $_ := set $environment "SPRING_DATASOURCE_URL" (.url | default $bundled) }}
{{- $_ := set $environment "SPRING_DATASOURCE_USERNAME" .username }}
{{- $secret := dict "name" (include "lab.database.secret" $) "key" "password" }}
{{- $_ := set $environment "SPRING_DATASOURCE_PASSWORD" (dict "secretKeyRef" $secret) }}
{{- end }}
{{- end }}
{{- with .Values.downstream }}
{{- if .enabled }}
{{- $bundled := printf "http://%s:8080" (include "lab.downstream.name" $) }}
{{- $_ := set $environment "LAB_DOWNSTREAM_URL" (.url | default $bundled) }}
{{- end }}
{{- end }}
{{- toJson $environment }}
{{- end }}

{{/* Processors that a JVM counts under a CPU limit: it must not count anew where vtlab raises the limit in the warm-up. */}}
{{- define "lab.processors" -}}
{{- if hasSuffix "m" . }}
{{- divf (trimSuffix "m" .) 1000 | ceil }}
{{- else }}
{{- ceil . }}
{{- end }}
{{- end }}

{{/* Environment of a variant, of (list . name), as JSON: settings, what the variant sets on top, and lab.companionEnvironment. */}}
{{- define "lab.variant.environment" -}}
{{- $root := index . 0 }}
{{- $name := index . 1 }}
{{- if has $name (list "database" "downstream") }}
{{- fail (printf "variants.%s: the name is taken: choose another one" $name) }}
{{- end }}
{{- $variant := get $root.Values.variants $name | default dict }}
{{- $env := dict }}
{{- range $from := list $root.Values.settings ($variant.env | default dict) }}
{{- range $key, $value := $from }}
{{- /* A number of a values file is a float: as JSON it is 1000000 and not 1e+06. */}}
{{- $_ := set $env $key (kindIs "string" $value | ternary $value (toJson $value)) }}
{{- end }}
{{- end }}
{{- if hasKey $env "JAVA_TOOL_OPTIONS" }}
{{- fail (printf "variants.%s: JAVA_TOOL_OPTIONS is made from limits.heap, jvm.gc and jvmFlags: set those" $name) }}
{{- end }}
{{- range $key, $value := include "lab.companionEnvironment" $root | fromJson }}
{{- if hasKey $env $key }}
{{- fail (printf "variants.%s: %s is made from database and downstream: set those" $name $key) }}
{{- end }}
{{- $_ := set $env $key $value }}
{{- end }}
{{- $processors := printf "-XX:ActiveProcessorCount=%s" (include "lab.processors" (toString $root.Values.limits.cpu)) }}
{{- $more := prepend ($variant.jvmFlags | default list) $processors }}
{{- $jvm := include "lab.jvm" (list $root $root.Values.limits.heap $more) }}
{{- set $env "JAVA_TOOL_OPTIONS" $jvm | toJson }}
{{- end }}
