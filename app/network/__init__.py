"""What lies between the network and the pages: limits, headers, faults, logs.

| for | see |
|---|---|
| slow, endless and idle connections | `connection`, under the server |
| what every request and every answer passes | `door`, and `head` for what a request may say |
| what is written to the log | `logs` |
"""
