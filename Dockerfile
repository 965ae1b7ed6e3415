# Two images of one file:
#
#     docker build -t dhp-sidecar .                                    the sidecar
#     docker build -t dhp-sidecar-examples --target examples .        what docker-compose.yml puts around it
#
# BASE is any image with Python 3.11 or newer on the PATH as `python`; where there is no registry, a local one.
# docs/decisions/0006-container.md says why things are as they are.
ARG BASE=python:3.13-slim

FROM ${BASE} AS builder
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1 PIP_ROOT_USER_ACTION=ignore
WORKDIR /build
COPY requirements.lock requirements-runtime.lock ./
RUN python -m venv --without-pip /opt/dhp \
 && pip --python /opt/dhp/bin/python install -q --no-compile --require-hashes --no-deps -r requirements-runtime.lock
# Of the lock with the development tools only what builds the wheel, and what the examples serve with: pip cannot
# choose from a lock, so awk copies the chosen entries, hashes included.
RUN pick() { awk -v only="^($1)==" '/^[^ #]/ { keep = $0 ~ only } keep' requirements.lock; } \
 && pick 'hatchling|packaging|pathspec|pluggy|trove-classifiers' > wheel.lock \
 && pick 'sse-starlette' > examples.lock \
 && pip install -q --require-hashes --no-deps -r wheel.lock
COPY pyproject.toml README.md LICENSE ./
COPY bridge bridge
COPY sidecar sidecar
RUN pip wheel -q --no-deps --no-build-isolation -w dist . \
 && pip --python /opt/dhp/bin/python install -q --no-compile --no-deps dist/*.whl

FROM builder AS examples-builder
RUN pip --python /opt/dhp/bin/python install -q --no-compile --require-hashes --no-deps -r examples.lock

# What both images stand on: the base without its installer, and a user that owns nothing but the store.
FROM ${BASE} AS bare
RUN find / -xdev \( -path '*-packages/pip' -o -path '*-packages/pip-*' -o -path '*-packages/setuptools*' \
      -o -path '*-packages/wheel*' -o -path '*-packages/pkg_resources' -o -path '*/python3*/ensurepip' \
      -o -path '*/python-wheels' -o -path '*/bin/pip*' \) -prune -exec rm -rf {} + \
 && echo 'dhp:x:10001:' >> /etc/group \
 && echo 'dhp:x:10001:10001:dhp-sidecar:/nonexistent:/usr/sbin/nologin' >> /etc/passwd \
 && mkdir -m 0700 /var/lib/dhp-sidecar \
 && chown 10001:10001 /var/lib/dhp-sidecar
ENV PATH=/opt/dhp/bin:/usr/local/bin:/usr/local/sbin:/usr/bin:/usr/sbin:/bin:/sbin \
    PYTHONUNBUFFERED=1
STOPSIGNAL SIGTERM

FROM bare AS examples
LABEL org.opencontainers.image.title="dhp-sidecar-examples" \
      org.opencontainers.image.description="Agents, page server and client of the walk in BRIDGE_DEMO.md" \
      org.opencontainers.image.licenses="MIT"
COPY --from=examples-builder /opt/dhp /opt/dhp
WORKDIR /opt/examples
COPY examples examples
# Compiles what is imported and nothing else, the base's own modules too: at run time the file system is read-only.
RUN python -c 'import examples.census, examples.pages, examples.demo.walk, sidecar.ops.probe'
ENV PYTHONDONTWRITEBYTECODE=1
USER 10001:10001

FROM bare AS sidecar
LABEL org.opencontainers.image.title="dhp-sidecar" \
      org.opencontainers.image.description="A sidecar that makes A2A tasks outlive their agents" \
      org.opencontainers.image.licenses="MIT"
COPY --from=builder /opt/dhp /opt/dhp
RUN python -c 'import sidecar.cli, sidecar.main, sidecar.ops.inspect, sidecar.ops.probe, alembic.command'
# No DHP_SIDECAR_INSECURE here: that the network is trusted is for whoever runs the image to say.
ENV PYTHONDONTWRITEBYTECODE=1 \
    DHP_SIDECAR_HOST=0.0.0.0 \
    DHP_SIDECAR_STORE=sqlite:////var/lib/dhp-sidecar/journal.db
USER 10001:10001
VOLUME /var/lib/dhp-sidecar
EXPOSE 8470 8472 8473
# Alive, not ready: a sidecar whose agent is away is not sick. `/readyz` is for whoever sends clients here.
HEALTHCHECK --interval=10s --timeout=3s --start-period=15s --retries=3 \
  CMD ["python", "-m", "sidecar.ops.probe"]
ENTRYPOINT ["dhp-sidecar"]
CMD ["run"]
