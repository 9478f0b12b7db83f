{{/* Labels and annotations of a pod, of (list . labels), or (list . labels annotations), both as YAML. */}}
{{- define "lab.podMetadata" -}}
{{- $root := index . 0 }}
{{- $annotations := "" }}
{{- if gt (len .) 2 }}
{{- $annotations = index . 2 }}
{{- end -}}
labels:
  {{- merge (index . 1 | fromYaml) $root.Values.podLabels | toYaml | nindent 2 }}
{{- with merge ($annotations | fromYaml) $root.Values.podAnnotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* Where a pod may run and what may pull its images, of (list . values affinity): nodeSelector, tolerations and affinity
of the values, as YAML. The affinity of the list stands in where the values have none. */}}
{{- define "lab.scheduling" -}}
{{- $values := index . 1 }}
{{- $spec := dict }}
{{- with (index . 0).Values.imagePullSecrets }}
{{- $_ := set $spec "imagePullSecrets" . }}
{{- end }}
{{- with $values.nodeSelector }}
{{- $_ := set $spec "nodeSelector" . }}
{{- end }}
{{- with $values.tolerations }}
{{- $_ := set $spec "tolerations" . }}
{{- end }}
{{- with $values.affinity | default (index . 2 | fromYaml) }}
{{- $_ := set $spec "affinity" . }}
{{- end }}
{{- with $spec }}
{{- toYaml . }}
{{- end }}
{{- end }}

{{/* Reference of an image, of (list image default-tag): by its digest; else by its tag, or by the default where it has none. */}}
{{- define "lab.image" -}}
{{- $image := index . 0 }}
{{- if $image.digest }}
{{- $image.repository }}@{{ $image.digest }}
{{- else }}
{{- $image.repository }}:{{ $image.tag | default (index . 1) }}
{{- end }}
{{- end }}
