{{/* Pod Security "restricted" for a pod, of (list . user-id), or (list . user-id "owns volumes"): the volume of a claim would
be root's. Without fixedUserIds the cluster chooses the ids. */}}
{{- define "lab.podSecurity" -}}
{{- $fixed := (index . 0).Values.fixedUserIds -}}
automountServiceAccountToken: false
enableServiceLinks: false
securityContext:
  runAsNonRoot: true
  {{- if $fixed }}
  runAsUser: {{ index . 1 }}
  runAsGroup: {{ index . 1 }}
  {{- if gt (len .) 2 }}
  fsGroup: {{ index . 1 }}
  {{- end }}
  {{- end }}
  seccompProfile:
    type: RuntimeDefault
{{- end }}

{{/* Pod Security "restricted" for a container. */}}
{{- define "lab.containerSecurity" -}}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities:
    drop: [ALL]
{{- end }}
