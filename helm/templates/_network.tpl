{{/* The port of a URL, of (list url default). */}}
{{- define "lab.port" -}}
{{- $url := trimPrefix "jdbc:" (index . 0) | urlParse }}
{{- regexFind "[0-9]+$" (regexFind ":[0-9]+$" $url.host) | default (index . 1) }}
{{- end }}

{{/* Egress rule for DNS. */}}
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
