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

{{/* A hook outlives its release: nothing stays after a success, the log after a failure. */}}
{{- define "lab.test.annotations" -}}
helm.sh/hook: test
helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded
{{- end }}
