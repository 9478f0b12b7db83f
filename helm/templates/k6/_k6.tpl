{{/* The load generator. */}}
{{- define "lab.k6.name" -}}
{{- include "lab.name" (list . "k6") }}
{{- end }}

{{- define "lab.k6.labels" -}}
{{ include "lab.componentLabels" (list . "k6") }}
{{- end }}

{{- define "lab.k6.selector" -}}
{{ include "lab.componentSelector" (list . "k6") }}
{{- end }}

{{/* Ingress rule from k6, for probes. */}}
{{- define "lab.k6.ingress" -}}
- from:
    - podSelector:
        matchLabels:
          {{- include "lab.k6.selector" . | nindent 10 }}
{{- end }}

{{/* The CronJob of an experiment, of (list . experiment). */}}
{{- define "lab.experiment.name" -}}
{{- include "lab.name" . }}
{{- end }}

{{- define "lab.experiment.labels" -}}
{{ include "lab.k6.labels" (index . 0) }}
experiment: {{ index . 1 }}
{{- end }}

{{- define "lab.experiment.selector" -}}
{{ include "lab.k6.selector" (index . 0) }}
experiment: {{ index . 1 }}
{{- end }}
