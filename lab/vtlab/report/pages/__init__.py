"""Pages: the report as HTML, Markdown, JUnit XML and lines of a terminal; and the history of runs."""
