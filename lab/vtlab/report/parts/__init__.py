"""Parts of a report: tables, and charts with their captions. Every page takes them from here."""
