# `keywright serve` in a container; see docs/serving.md.
FROM python:3.12-slim AS build
WORKDIR /build
COPY pyproject.toml README.md LICENSE requirements/serve.txt ./
COPY src src
# Every package is checked against its hash; the build backend is one of them.
RUN python -m venv /opt/keywright \
    && /opt/keywright/bin/pip install --no-cache-dir --no-deps --require-hashes -r serve.txt \
    && /opt/keywright/bin/pip install --no-cache-dir --no-deps --no-build-isolation .

FROM python:3.12-slim
COPY --from=build /opt/keywright /opt/keywright
# A number, so that Kubernetes can verify that it is not root. The user owns and writes no files.
USER 10001:10001
WORKDIR /tmp
ENV PYTHONDONTWRITEBYTECODE=1
EXPOSE 8000
HEALTHCHECK --interval=30s --timeout=5s --start-period=30s \
    CMD ["/opt/keywright/bin/python", "-c", "from urllib.request import urlopen; urlopen('http://127.0.0.1:8000/healthz', timeout=4)"]
# Inside a container 127.0.0.1 is the container itself; published ports decide who can reach it.
ENTRYPOINT ["/opt/keywright/bin/keywright", "serve", "--host", "0.0.0.0", "--port", "8000"]
