{{/* The downstream service that the chart makes. */}}
{{- define "lab.downstream.name" -}}
{{- include "lab.name" (list . "downstream") }}
{{- end }}

{{- define "lab.downstream.labels" -}}
{{ include "lab.componentLabels" (list . "downstream") }}
{{- end }}

{{- define "lab.downstream.selector" -}}
{{ include "lab.componentSelector" (list . "downstream") }}
{{- end }}
