{{/* The pod of `helm test`. */}}
{{- define "lab.test.name" -}}
{{- include "lab.name" (list . "test") }}
{{- end }}

{{- define "lab.test.labels" -}}
{{ include "lab.componentLabels" (list . "test") }}
{{- end }}

{{- define "lab.test.selector" -}}
{{ include "lab.componentSelector" (list . "test") }}
{{- end }}
