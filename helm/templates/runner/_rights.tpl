{{/* The service account of the Job that runs vtlab. */}}
{{- define "lab.runner.subject" -}}
- kind: ServiceAccount
  name: {{ include "lab.runner.name" . }}
  namespace: {{ .Release.Namespace }}
{{- end }}

{{/* Users who may run vtlab. A service account without a namespace is one of this release's. */}}
{{- define "lab.runner.subjects" -}}
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
