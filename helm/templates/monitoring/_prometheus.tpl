{{/* URL of Prometheus, without a slash at the end. */}}
{{- define "lab.prometheus.url" -}}
{{- with .Values.monitoring }}
{{- .prometheusUrl | default (printf "http://prometheus-operated.%s:9090" .namespace) | trimSuffix "/" }}
{{- end }}
{{- end }}

{{/* Egress rule to Prometheus, for queries and samples. */}}
{{- define "lab.prometheus.egress" -}}
{{- $url := include "lab.prometheus.url" . -}}
- to:
    - namespaceSelector:
        matchLabels:
          kubernetes.io/metadata.name: {{ .Values.monitoring.namespace }}
      podSelector:
        matchLabels:
          {{- toYaml .Values.networkPolicy.prometheusLabels | nindent 10 }}
  ports:
    - {port: {{ include "lab.port" (list $url (hasPrefix "https:" $url | ternary 443 80)) }}, protocol: TCP}
{{- end }}
