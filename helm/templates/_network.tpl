{{/* Where Prometheus is, without a slash at the end. */}}
{{- define "lab.prometheusUrl" -}}
{{- with .Values.monitoring }}
{{- .prometheusUrl | default (printf "http://prometheus-operated.%s:9090" .namespace) | trimSuffix "/" }}
{{- end }}
{{- end }}

{{/* The port of a URL, of (list url default). */}}
{{- define "lab.port" -}}
{{- $url := trimPrefix "jdbc:" (index . 0) | urlParse }}
{{- regexFind "[0-9]+$" (regexFind ":[0-9]+$" $url.host) | default (index . 1) }}
{{- end }}

{{/* Out: names to addresses. */}}
{{- define "lab.dnsEgress" -}}
- to:
    - namespaceSelector:
        matchLabels:
          kubernetes.io/metadata.name: kube-system
      podSelector:
        matchLabels:
          k8s-app: kube-dns
  ports:
    - {port: 53, protocol: UDP}
    - {port: 53, protocol: TCP}
{{- end }}

{{/* In: from the variants of this release. */}}
{{- define "lab.variantIngress" -}}
- from:
    - podSelector:
        matchLabels:
          {{- include "lab.selector" . | nindent 10 }}
          app.kubernetes.io/component: variant
{{- end }}

{{/* Out: requests to the variants. */}}
{{- define "lab.variantEgress" -}}
- to:
    - podSelector:
        matchLabels:
          {{- include "lab.selector" . | nindent 10 }}
          app.kubernetes.io/component: variant
  ports:
    - {port: 8080, protocol: TCP}
{{- end }}

{{/* Out: queries and samples to Prometheus. */}}
{{- define "lab.prometheusEgress" -}}
{{- $url := include "lab.prometheusUrl" . -}}
- to:
    - namespaceSelector:
        matchLabels:
          kubernetes.io/metadata.name: {{ .Values.monitoring.namespace }}
      podSelector:
        matchLabels:
          app.kubernetes.io/name: prometheus
  ports:
    - {port: {{ include "lab.port" (list $url (hasPrefix "https:" $url | ternary 443 80)) }}, protocol: TCP}
{{- end }}
