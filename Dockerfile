FROM node:24-bookworm-slim

LABEL org.opencontainers.image.title="Plant Store" \
  org.opencontainers.image.version="2.0.0" \
  org.opencontainers.image.licenses="MIT"

ENV NODE_ENV=production
WORKDIR /app

# Ahead of the source, whose changes then install nothing anew. The optional packages are Node itself, which is here.
COPY package.json package-lock.json ./
# Of Swagger UI's many bundles the service serves one.
RUN npm ci --omit=dev --omit=optional --ignore-scripts \
  && rm -rf ~/.npm /tmp/* node_modules/swagger-ui-dist/*.map node_modules/swagger-ui-dist/*-es-*

COPY src ./src
COPY web ./web
COPY migrations ./migrations
# A clone made under a strict umask is readable by its owner only, and that is not who runs it.
RUN chmod -R a+rX package.json src web migrations

# Where the embedded database goes without a DATABASE_URL: mount a volume here to keep it (docker run -v plants:/data).
# Not a VOLUME, which would leave a nameless one behind with every container, even beside a Postgres.
# What V8 has compiled is kept by user and read at each start, also on a file system that is read-only by then. The imports
# are what the service loads only if it is configured; of these, the cache saves the stripping of types.
RUN install -d -o node -g node /data /app/compile-cache
USER node
ENV NODE_COMPILE_CACHE=/app/compile-cache
RUN node --import ./src/bootstrap/sqlite-store.ts --import ./src/bootstrap/postgres-store.ts \
  --import ./src/adapters/auth/jwt-tokens.ts --import ./src/adapters/webhooks/webhook-sender.ts src/main.ts --version

# The loopback of a container cannot be published. IPv4 and IPv6.
ENV HOST=:: MANAGEMENT_HOST=:: DATA_DIR=/data
EXPOSE 3000 3001

# Live, not ready: whoever acts on this replaces the container, which does not fix a database.
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s CMD ["node", "-e", \
  "fetch(`http://127.0.0.1:${process.env.MANAGEMENT_PORT || 3001}/live`).then(({ ok }) => process.exit(ok ? 0 : 1))"]

# Less memory for short-lived objects, at the same CPU: docs/performance.md.
CMD ["node", "--max-semi-space-size=8", "src/main.ts"]
