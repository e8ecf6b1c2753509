# What the pods of `launch.py --backend=kubernetes` run: this repository and the
# packages of its lock file, without accelerators. docs/backends/kubernetes.md
# says how to build it, and what to add for GPUs.
FROM --platform=linux/amd64 python:3.10-slim

# The user that pods run as; the folder holds what JAX compiles.
RUN useradd --uid 1000 --create-home launchpad

WORKDIR /launchpad_rl
# By itself, so that a change of code installs nothing again.
COPY requirements.lock ./
RUN pip install --no-cache-dir --require-hashes --requirement requirements.lock
COPY . ./

USER 1000:1000
CMD ["python", "launch.py", "list"]
