"""The operational laws: what bounds a variant, and the throughput that all resources together allow.

Sources
    [1] P. Denning, J. Buzen: The Operational Analysis of Queueing Network Models. ACM Computing Surveys
        10 (1978).
        (utilisation law U = X·D/m, Little's law N = X·(R+Z))
    [2] E. Lazowska et al.: Quantitative System Performance, 1984, chapter 5. (asymptotic bounds)

Throughputs are OK requests per second, demands resource-seconds per OK request. Of a script both count iterations:
what the server says of a request is summed over those of an iteration.
"""
