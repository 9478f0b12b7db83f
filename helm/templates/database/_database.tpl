{{/* The database that the chart makes. */}}
{{- define "lab.database.name" -}}
{{- include "lab.name" (list . "database") }}
{{- end }}

{{- define "lab.database.labels" -}}
{{ include "lab.componentLabels" (list . "database") }}
{{- end }}

{{- define "lab.database.selector" -}}
{{ include "lab.componentSelector" (list . "database") }}
{{- end }}

{{/* The Secret with its password. */}}
{{- define "lab.database.secret" -}}
{{- .Values.database.existingSecret | default (include "lab.database.name" .) }}
{{- end }}
