"""What is measured and what is recorded: experiments, variants, services, records.."""
