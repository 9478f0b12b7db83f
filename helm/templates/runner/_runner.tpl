{{/* vtlab as a Job, and the rights to run vtlab. */}}
{{- define "lab.runner.name" -}}
{{- include "lab.name" (list . "runner") }}
{{- end }}

{{- define "lab.runner.labels" -}}
{{ include "lab.componentLabels" (list . "runner") }}
{{- end }}

{{- define "lab.runner.selector" -}}
{{ include "lab.componentSelector" (list . "runner") }}
{{- end }}

{{/* The Job. Nobody can change one, so its name says what it is made of: an upgrade by Helm, and another value by Argo CD,
which renders each time as an installation, measure the release anew. */}}
{{- define "lab.runner.job" -}}
{{- $made := list .Chart.Version .Values | toJson | sha256sum | trunc 6 }}
{{- include "lab.name" (list . (printf "runner-%d-%s" .Release.Revision $made)) }}
{{- end }}

{{/* The ConfigMap for the verdict, and the right to write it. */}}
{{- define "lab.runner.verdict" -}}
{{- include "lab.name" (list . "verdict") }}
{{- end }}

{{/* The ConfigMap with an experiment of a service that the release knows nothing of. */}}
{{- define "lab.runner.experiment" -}}
{{- include "lab.name" (list . "experiment") }}
{{- end }}

{{/* The right to measure copies of a service. */}}
{{- define "lab.runner.copies" -}}
{{- include "lab.name" (list . "copies") }}
{{- end }}

{{/* The right to reach Prometheus, in its namespace: another one may hold a release of the same name. */}}
{{- define "lab.runner.prometheus" -}}
{{- printf "%s-runner-%s" .Release.Name .Release.Namespace }}
{{- end }}
