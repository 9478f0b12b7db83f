{{/* All variants. */}}
{{- define "lab.variants.name" -}}
{{- include "lab.name" (list . "variants") }}
{{- end }}

{{- define "lab.variants.labels" -}}
{{ include "lab.componentLabels" (list . "variant") }}
{{- end }}

{{- define "lab.variants.selector" -}}
{{ include "lab.componentSelector" (list . "variant") }}
{{- end }}

{{/* One variant, of (list . variant). */}}
{{- define "lab.variant.name" -}}
{{- include "lab.name" . }}
{{- end }}

{{- define "lab.variant.url" -}}
{{- printf "http://%s:8080" (include "lab.variant.name" .) }}
{{- end }}

{{/* What a probe asks, as the kubelet does. */}}
{{- define "lab.variant.probe" -}}
{{- printf "http://%s:8081/actuator/health/liveness" (include "lab.variant.name" .) }}
{{- end }}

{{- define "lab.variant.labels" -}}
{{ include "lab.variants.labels" (index . 0) }}
variant: {{ index . 1 }}
{{- end }}

{{- define "lab.variant.selector" -}}
{{ include "lab.variants.selector" (index . 0) }}
variant: {{ index . 1 }}
{{- end }}

{{/* Affinity to nodes with variants, if possible, of (list . kind): podAffinity or podAntiAffinity. */}}
{{- define "lab.variants.affinity" -}}
{{ index . 1 }}:
  preferredDuringSchedulingIgnoredDuringExecution:
    - weight: 100
      podAffinityTerm:
        topologyKey: kubernetes.io/hostname
        labelSelector:
          matchLabels:
            {{- include "lab.variants.selector" (index . 0) | nindent 12 }}
{{- end }}

{{/* Ingress rule from the variants. */}}
{{- define "lab.variants.ingress" -}}
- from:
    - podSelector:
        matchLabels:
          {{- include "lab.variants.selector" . | nindent 10 }}
{{- end }}

{{/* Egress rule to the variants, for requests. */}}
{{- define "lab.variants.egress" -}}
- to:
    - podSelector:
        matchLabels:
          {{- include "lab.variants.selector" . | nindent 10 }}
  ports:
    - {port: 8080, protocol: TCP}
{{- end }}

{{/* Egress rule to the variants, for probes. */}}
{{- define "lab.variants.probeEgress" -}}
- to:
    - podSelector:
        matchLabels:
          {{- include "lab.variants.selector" . | nindent 10 }}
  ports:
    - {port: 8081, protocol: TCP}
{{- end }}

{{/* Ingress rule from the pods that send requests to variants. */}}
{{- define "lab.variants.clients" -}}
- from:
    - podSelector:
        matchLabels:
          {{- include "lab.selector" . | nindent 10 }}
        matchExpressions:
          - {key: app.kubernetes.io/component, operator: In, values: [k6, test]}
{{- end }}
