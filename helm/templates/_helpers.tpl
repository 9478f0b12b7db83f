{{/* Labels of every object. */}}
{{- define "lab.labels" -}}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version | replace "+" "_" }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
{{ include "lab.selector" . }}
{{- end }}

{{/* What selects the pods of this release; a component (variant, k6, test) comes on top. */}}
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

{{/* Environment of a variant, of (list . name), as JSON: settings, and what the variant says on top. */}}
{{- define "lab.environment" -}}
{{- $root := index . 0 }}
{{- $name := index . 1 }}
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
{{- $jvm := list (printf "-XX:+Use%sGC" $root.Values.jvm.gc) "-XX:+ExitOnOutOfMemoryError" }}
{{- $jvm = concat $jvm (list (printf "-Xms%s" $root.Values.limits.heap) (printf "-Xmx%s" $root.Values.limits.heap)) }}
{{- $jvm = concat $jvm ($variant.jvmFlags | default list) }}
{{- set $env "JAVA_TOOL_OPTIONS" (join " " $jvm) | toJson }}
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
{{- /* As vtlab does: the variants must differ in nothing but their threads. */}}
{{- $others := list }}
{{- range $experiment.variants }}
{{- $others = append $others (omit (get $root.Values.variants . | default dict) "env" | toJson) }}
{{- $env := omit (include "lab.environment" (list $root .) | fromJson) "JAVA_TOOL_OPTIONS" "SPRING_THREADS_VIRTUAL_ENABLED" }}
{{- $same = and $same (eq (toJson $env) (toJson ($experiment.settings | default dict))) }}
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
