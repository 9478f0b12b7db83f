"""Reports of runs: one HTML file, Markdown for pull requests, JUnit XML, and a few lines for the terminal."""
