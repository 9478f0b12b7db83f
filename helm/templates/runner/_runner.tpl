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

{{/* The Job. Helm changes none, so the revision is in its name. */}}
{{- define "lab.runner.job" -}}
{{- include "lab.name" (list . (printf "runner-%d" .Release.Revision)) }}
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
