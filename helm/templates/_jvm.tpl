{{/* JVM flags, of (list . heap more): vtlab's, with another garbage collector where jvm.gc names one. */}}
{{- define "lab.jvm" -}}
{{- $root := index . 0 }}
{{- $heap := index . 1 }}
{{- $flags := list }}
{{- range ($root.Files.Get "files/jvm.json" | mustFromJson).flags }}
{{- $flags = append $flags (regexReplaceAll "^-XX:[+]Use[A-Z].*GC$" . (printf "-XX:+Use%sGC" $root.Values.jvm.gc)) }}
{{- end }}
{{- $flags = concat $flags (list (printf "-Xms%s" $heap) (printf "-Xmx%s" $heap)) (index . 2) }}
{{- join " " $flags }}
{{- end }}
