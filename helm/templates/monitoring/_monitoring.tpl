{{/* The recording rules and alerts. */}}
{{- define "lab.rules.name" -}}
{{- include "lab.name" (list . "rules") }}
{{- end }}

{{/* The ConfigMap of a dashboard, of (list . dashboard). */}}
{{- define "lab.dashboard.name" -}}
{{- include "lab.name" (list (index . 0) (printf "dashboard-%s" (index . 1))) }}
{{- end }}

{{- define "lab.dashboard.labels" -}}
{{ include "lab.componentLabels" (list . "dashboard") }}
{{- end }}
