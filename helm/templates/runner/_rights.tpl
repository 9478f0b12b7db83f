{{/* The service account of the Job that runs vtlab. */}}
{{- define "lab.runnerSubject" -}}
- kind: ServiceAccount
  name: {{ include "lab.name" (list . "runner") }}
  namespace: {{ .Release.Namespace }}
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
