{{/* The name of an instance's objects. */}}
{{- define "walpost.name" -}}
{{- printf "%s-%s" .root.Release.Name .name | trunc 63 | trimSuffix "-" -}}
{{- end }}

{{- define "walpost.selector" -}}
app.kubernetes.io/name: walpost
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .name }}
{{- end }}

{{- define "walpost.labels" -}}
{{ include "walpost.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version }}
{{- end }}

{{- define "walpost.image" -}}
{{- $image := .Values.image -}}
{{- if $image.digest -}}
{{ $image.repository }}@{{ $image.digest }}
{{- else -}}
{{ $image.repository }}:{{ $image.tag | default .Chart.AppVersion }}
{{- end -}}
{{- end }}

{{- define "walpost.serviceAccount" -}}
{{- if .Values.serviceAccount.create -}}
{{ .Values.serviceAccount.name | default (printf "%s-walpost" .Release.Name) }}
{{- else -}}
{{ .Values.serviceAccount.name | default "default" }}
{{- end -}}
{{- end }}

{{/* The configuration, with what the chart decides. */}}
{{- define "walpost.config" -}}
{{- $config := mustMergeOverwrite (deepCopy .instance.config) (dict "http" (dict "listen" "0.0.0.0:9187")) -}}
{{- toYaml $config -}}
{{- end }}

{{/* What the policy "restricted" asks of a pod. */}}
{{- define "walpost.podSecurity" -}}
runAsNonRoot: true
runAsUser: 10001
runAsGroup: 10001
fsGroup: 10001
fsGroupChangePolicy: OnRootMismatch
seccompProfile: {type: RuntimeDefault}
{{- end }}

{{- define "walpost.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
runAsNonRoot: true
capabilities: {drop: [ALL]}
seccompProfile: {type: RuntimeDefault}
{{- end }}

{{/* What is the same for the relay and for `init`. */}}
{{- define "walpost.mounts" -}}
- {name: config, mountPath: /etc/walpost/walpost.yaml, subPath: walpost.yaml, readOnly: true}
{{- if .instance.secretName }}
- {name: secrets, mountPath: /etc/walpost/secrets, readOnly: true}
{{- end }}
- {name: tmp, mountPath: /tmp}
{{- end }}

{{- define "walpost.volumes" -}}
- name: config
  configMap: {name: {{ include "walpost.name" . }}{{ .suffix }}}
{{- if .instance.secretName }}
- name: secrets
  secret: {secretName: {{ .instance.secretName | quote }}, defaultMode: 0440}
{{- end }}
- name: tmp
  emptyDir: {sizeLimit: {{ .instance.temporaryStorage }}}
{{- end }}
