# The server in a small image, without root.
#
#     docker build -t millpond .
#     docker run --rm -p 4566:4566 -v millpond-data:/data -e MILLPOND_LISTEN=0.0.0.0:4566 -e MILLPOND_PASSWORD=secret millpond
#
# Without a password the server listens on loopback only, which needs `--network host` to be of use.

FROM rust:1.95-slim-bookworm AS build
RUN apt-get update \
 && apt-get install -y --no-install-recommends build-essential \
 && rm -rf /var/lib/apt/lists/*
WORKDIR /src
COPY . .
RUN cargo build --locked --release -p millpond-server --bin millpond

FROM debian:bookworm-slim
RUN useradd --system --uid 10001 --home-dir /data --create-home millpond
COPY --from=build /src/target/release/millpond /usr/local/bin/millpond
USER millpond
WORKDIR /data
VOLUME /data
EXPOSE 4566 4567
# bash opens the connection itself: the image has no HTTP client.
HEALTHCHECK --interval=10s --timeout=5s --start-period=10s CMD ["bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/4567 && printf 'GET /health HTTP/1.0\\r\\n\\r\\n' >&3 && head -n 1 <&3 | grep -q ' 200 '"]
ENTRYPOINT ["millpond"]
CMD ["serve", "--data-dir", "/data"]
