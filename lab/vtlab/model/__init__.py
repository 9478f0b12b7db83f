"""Data that is measured and recorded: experiments, variants, services, records.."""
