{{/* Labels of every object. Each component's folder has helpers for its names, labels and selectors. */}}
{{- define "lab.labels" -}}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version | replace "+" "_" }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
{{ include "lab.selector" . }}
{{- end }}

{{/* Selects the pods of this release. */}}
{{- define "lab.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{/* Labels of an object of a component, of (list . component). */}}
{{- define "lab.componentLabels" -}}
{{ include "lab.labels" (index . 0) }}
app.kubernetes.io/component: {{ index . 1 }}
{{- end }}

{{/* Selects the pods of a component, of (list . component). */}}
{{- define "lab.componentSelector" -}}
{{ include "lab.selector" (index . 0) }}
app.kubernetes.io/component: {{ index . 1 }}
{{- end }}

{{/* Name <release>-<thing>, of (list . thing). A CronJob's name has at most 52 characters: what is cut off could collide. */}}
{{- define "lab.name" -}}
{{- $name := printf "%s-%s" (index . 0).Release.Name (index . 1) }}
{{- if gt (len $name) 52 }}
{{- fail (printf "the name %s has %d characters, 52 are allowed: choose a shorter release name" $name (len $name)) }}
{{- end }}
{{- $name }}
{{- end }}
