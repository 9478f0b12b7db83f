{{/* The port of a URL, of (list url default). */}}
{{- define "lab.port" -}}
{{- $url := trimPrefix "jdbc:" (index . 0) | urlParse }}
{{- regexFind "[0-9]+$" (regexFind ":[0-9]+$" $url.host) | default (index . 1) }}
{{- end }}

{{/* Egress rule for DNS. */}}
{{- define "lab.dnsEgress" -}}
{{- $dns := .Values.networkPolicy.dns -}}
- to:
    - namespaceSelector:
        matchLabels:
          kubernetes.io/metadata.name: {{ $dns.namespace }}
      podSelector:
        matchLabels:
          {{- toYaml $dns.labels | nindent 10 }}
    {{- range $dns.addresses }}
    - ipBlock:
        cidr: {{ . }}
    {{- end }}
  ports:
    - {port: {{ $dns.port }}, protocol: UDP}
    - {port: {{ $dns.port }}, protocol: TCP}
{{- end }}
