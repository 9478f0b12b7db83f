{{/* Labels of every object. */}}
{{- define "lab.labels" -}}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version | replace "+" "_" }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
{{ include "lab.selector" . }}
{{- end }}

{{/* What selects the pods of this release; a component (variant, k6, test, database, downstream) comes on top. */}}
{{- define "lab.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{/* <release>-<thing> of (list . thing). A CronJob's name has at most 52 characters: what is cut off could collide. */}}
{{- define "lab.name" -}}
{{- $name := printf "%s-%s" (index . 0).Release.Name (index . 1) }}
{{- if gt (len $name) 52 }}
{{- fail (printf "the name %s has %d characters, 52 are allowed: choose a shorter release name" $name (len $name)) }}
{{- end }}
{{- $name }}
{{- end }}

{{/* What a variant gets of the database and of the downstream service, as JSON: name -> value, or where it comes from.
vtlab knows these names. */}}
{{- define "lab.given" -}}
{{- $given := dict }}
{{- with .Values.database }}
{{- if .enabled }}
{{- if and .url (not .existingSecret) }}
{{- fail "database.url is set: set database.existingSecret, too, a Secret with the key `password`" }}
{{- end }}
{{- /* In the clear, as vtlab's on one machine: encrypting would be part of what is measured. */}}
{{- $own := printf "jdbc:mysql://%s:3306/%s?sslMode=DISABLED" (include "lab.name" (list $ "database")) .name }}
{{- $_ := set $given "SPRING_DATASOURCE_URL" (.url | default $own) }}
{{- $_ := set $given "SPRING_DATASOURCE_USERNAME" .username }}
{{- $secret := dict "name" (include "lab.databaseSecret" $) "key" "password" }}
{{- $_ := set $given "SPRING_DATASOURCE_PASSWORD" (dict "secretKeyRef" $secret) }}
{{- end }}
{{- end }}
{{- with .Values.downstream }}
{{- if .enabled }}
{{- $own := printf "http://%s:8080" (include "lab.name" (list $ "downstream")) }}
{{- $_ := set $given "LAB_DOWNSTREAM_URL" (.url | default $own) }}
{{- end }}
{{- end }}
{{- toJson $given }}
{{- end }}

{{/* The Secret with the database's password. */}}
{{- define "lab.databaseSecret" -}}
{{- .Values.database.existingSecret | default (include "lab.name" (list . "database")) }}
{{- end }}

{{/* JVM flags, of (list . heap more). */}}
{{- define "lab.jvm" -}}
{{- $heap := index . 1 }}
{{- $flags := list (printf "-XX:+Use%sGC" (index . 0).Values.jvm.gc) "-XX:+ExitOnOutOfMemoryError" }}
{{- $flags = concat $flags (list (printf "-Xms%s" $heap) (printf "-Xmx%s" $heap)) (index . 2) }}
{{- join " " $flags }}
{{- end }}

{{/* Environment of a variant, of (list . name), as JSON: settings, what the variant says on top, and lab.given. */}}
{{- define "lab.environment" -}}
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
{{- range $key, $value := include "lab.given" $root | fromJson }}
{{- if hasKey $env $key }}
{{- fail (printf "variants.%s: %s is made from database and downstream: set those" $name $key) }}
{{- end }}
{{- $_ := set $env $key $value }}
{{- end }}
{{- $jvm := include "lab.jvm" (list $root $root.Values.limits.heap ($variant.jvmFlags | default list)) }}
{{- set $env "JAVA_TOOL_OPTIONS" $jvm | toJson }}
{{- end }}

{{/* The experiments to make a CronJob for, as JSON: name -> experiment. */}}
{{- define "lab.experiments" -}}
{{- $root := . }}
{{- $known := dict }}
{{- range $path, $content := .Files.Glob "k6/experiments/*.json" }}
{{- $_ := set $known (base $path | trimSuffix ".json") (mustFromJson (toString $content)) }}
{{- end }}
{{- if or (not $known) (not (.Files.Glob "k6/block.ts")) }}
{{- fail "no files in k6/ of the chart: it is a symbolic link to ../k6, which this checkout or copy of the chart has lost (git config core.symlinks true, then check out again)" }}
{{- end }}
{{- range .Values.experiments }}
{{- if not (hasKey $known .) }}
{{- fail (printf "experiments: no experiment %q: known are %s" . (keys $known | sortAlpha | join ", ")) }}
{{- end }}
{{- end }}
{{- $chosen := dict }}
{{- range $name, $experiment := $known }}
{{- $missing := list }}
{{- range $experiment.needs }}
{{- if not (get $root.Values .).enabled }}
{{- $missing = append $missing (printf "needs %s, which is off: set %s.enabled" . .) }}
{{- end }}
{{- end }}
{{- range $experiment.variants }}
{{- if not (hasKey $root.Values.variants .) }}
{{- $missing = append $missing (printf "compares the variant %s, which is not there: add variants.%s" . .) }}
{{- end }}
{{- end }}
{{- if has $name $root.Values.experiments }}
{{- if $missing }}
{{- fail (printf "experiments: %s %s" $name (join "; " $missing)) }}
{{- end }}
{{- $_ := set $chosen $name $experiment }}
{{- else if and (not $root.Values.experiments) (not $missing) }}
{{- $_ := set $chosen $name $experiment }}
{{- end }}
{{- end }}
{{- toJson $chosen }}
{{- end }}

{{/* The names of the dashboards that this release brings, as JSON. */}}
{{- define "lab.dashboards" -}}
{{- $names := list }}
{{- if and .Values.monitoring.enabled .Values.monitoring.dashboards.enabled }}
{{- range $path, $_ := .Files.Glob "grafana-dashboards/*.json" }}
{{- $names = append $names (base $path | trimSuffix ".json") }}
{{- end }}
{{- if not $names }}
{{- fail "no files in grafana-dashboards/ of the chart: it is a symbolic link to ../grafana-dashboards, which this checkout or copy of the chart has lost (git config core.symlinks true, then check out again; or monitoring.dashboards.enabled=false)" }}
{{- end }}
{{- end }}
{{- toJson $names }}
{{- end }}

{{/* A CPU limit in cores: 500m, "0.5" and 0.5 are 0.5. */}}
{{- define "lab.cores" -}}
{{- if hasSuffix "m" (toString .) }}
{{- divf (trimSuffix "m" .) 1000 }}
{{- else }}
{{- mulf . 1 }}
{{- end }}
{{- end }}

{{/* A memory limit in KiB: 1Gi is 1024Mi. */}}
{{- define "lab.kibibytes" -}}
{{- mul (regexFind "^[0-9]+" .) (get (dict "Ki" 1 "Mi" 1024 "Gi" 1048576) (regexFind "..$" .)) }}
{{- end }}

{{/* Whether vtlab measures (list . experiment) here, under whatever CPU limit: "yes", or nothing. */}}
{{- define "lab.measurable" -}}
{{- $root := index . 0 }}
{{- $experiment := index . 1 }}
{{- $wanted := $experiment.limits }}
{{- $limits := $root.Values.limits }}
{{- $same := eq (include "lab.kibibytes" $limits.memory) (include "lab.kibibytes" $wanted.memory) }}
{{- $same = and $same (eq $limits.heap $wanted.heap) }}
{{- $made := concat (list "JAVA_TOOL_OPTIONS" "SPRING_THREADS_VIRTUAL_ENABLED" "SPRING_MAIN_WEB_APPLICATION_TYPE") (keys (include "lab.given" $root | fromJson)) }}
{{- /* As vtlab does: the variants must differ in nothing but their threads and what the experiment says of them. */}}
{{- $others := list }}
{{- range $experiment.variants }}
{{- $variant := get $root.Values.variants . | default dict }}
{{- $own := get ($experiment.properties | default dict) . | default dict }}
{{- $env := include "lab.environment" (list $root .) | fromJson }}
{{- range $made }}
{{- $env = omit $env . }}
{{- end }}
{{- $same = and $same (eq (toJson $env) (toJson (merge (dict) ($own.settings | default dict) ($experiment.settings | default dict)))) }}
{{- if or $own.java $own.jvm_flags }}
{{- $same = and $same (eq (toJson ($variant.jvmFlags | default list)) (toJson ($own.jvm_flags | default list))) }}
{{- else }}
{{- $others = append $others (omit $variant "env" | toJson) }}
{{- end }}
{{- end }}
{{- $same = and $same (le (len (uniq $others)) 1) }}
{{- $same | ternary "yes" "" }}
{{- end }}

{{/* Where Prometheus is, without a slash at the end. */}}
{{- define "lab.prometheusUrl" -}}
{{- with .Values.monitoring }}
{{- .prometheusUrl | default (printf "http://prometheus-operated.%s:9090" .namespace) | trimSuffix "/" }}
{{- end }}
{{- end }}

{{/* The port of a URL, of (list url default). */}}
{{- define "lab.port" -}}
{{- $url := trimPrefix "jdbc:" (index . 0) | urlParse }}
{{- regexFind "[0-9]+$" (regexFind ":[0-9]+$" $url.host) | default (index . 1) }}
{{- end }}

{{/* Pod Security "restricted", of a numeric user. */}}
{{- define "lab.podSecurity" -}}
automountServiceAccountToken: false
enableServiceLinks: false
securityContext:
  runAsNonRoot: true
  runAsUser: {{ . }}
  runAsGroup: {{ . }}
  seccompProfile:
    type: RuntimeDefault
{{- end }}

{{- define "lab.containerSecurity" -}}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities:
    drop: [ALL]
{{- end }}

{{/* Out: names to addresses. */}}
{{- define "lab.dnsEgress" -}}
- to:
    - namespaceSelector:
        matchLabels:
          kubernetes.io/metadata.name: kube-system
      podSelector:
        matchLabels:
          k8s-app: kube-dns
  ports:
    - {port: 53, protocol: UDP}
    - {port: 53, protocol: TCP}
{{- end }}

{{/* In: from the variants of this release. */}}
{{- define "lab.variantIngress" -}}
- from:
    - podSelector:
        matchLabels:
          {{- include "lab.selector" . | nindent 10 }}
          app.kubernetes.io/component: variant
{{- end }}

{{/* Out: requests to the variants. */}}
{{- define "lab.variantEgress" -}}
- to:
    - podSelector:
        matchLabels:
          {{- include "lab.selector" . | nindent 10 }}
          app.kubernetes.io/component: variant
  ports:
    - {port: 8080, protocol: TCP}
{{- end }}

{{/* Who may run vtlab. A service account without a namespace is one of this release's. */}}
{{- define "lab.subjects" -}}
{{- range .Values.rbac.subjects }}
- kind: {{ .kind }}
  name: {{ .name | quote }}
  {{- if eq .kind "ServiceAccount" }}
  namespace: {{ .namespace | default $.Release.Namespace }}
  {{- else }}
  apiGroup: rbac.authorization.k8s.io
  {{- end }}
{{- end }}
{{- end }}
