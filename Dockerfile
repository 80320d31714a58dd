# `keywright serve` in a container; see docs/serving.md.
FROM python:3.12-slim AS build
WORKDIR /build
COPY pyproject.toml README.md LICENSE constraints.txt ./
COPY src src
RUN python -m venv /opt/keywright \
    && /opt/keywright/bin/pip install --no-cache-dir -c constraints.txt '.[serve]'

FROM python:3.12-slim
COPY --from=build /opt/keywright /opt/keywright
# By number, so that Kubernetes can tell that it is not root. It owns nothing and writes nothing.
USER 10001:10001
WORKDIR /tmp
ENV PYTHONDONTWRITEBYTECODE=1
EXPOSE 8000
HEALTHCHECK --interval=30s --timeout=5s --start-period=30s \
    CMD ["/opt/keywright/bin/python", "-c", "from urllib.request import urlopen; urlopen('http://127.0.0.1:8000/healthz', timeout=4)"]
# Inside a container 127.0.0.1 is the container; who reaches it is decided by what is published.
ENTRYPOINT ["/opt/keywright/bin/keywright", "serve", "--host", "0.0.0.0", "--port", "8000"]
