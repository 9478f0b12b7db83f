# One image for every variant: they differ in their environment only.
#   docker build -t virtual-threads-lab .
#   docker build -t virtual-threads-lab:21 --build-arg JAVA_VERSION=21 .
ARG JAVA_VERSION=25

FROM eclipse-temurin:25-jdk AS build
RUN apt-get update -qq \
 && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends maven >/dev/null \
 && rm -rf /var/lib/apt/lists/*
WORKDIR /src/app
COPY app/pom.xml .
# A build without sources: its downloads stay in this layer until pom.xml changes.
RUN mvn -q -B -Dmaven.test.skip -Dspring-boot.repackage.skip -Dmaven.antrun.skip package
COPY agent/pom.xml ../agent/pom.xml
COPY agent/src/main ../agent/src/main
RUN mvn -q -B -Dmaven.test.skip -f ../agent/pom.xml package
COPY app/src/main src/main
RUN mvn -q -B -Dmaven.test.skip package

FROM eclipse-temurin:${JAVA_VERSION}-jre AS app
COPY --from=build /src/app/target/extracted/lib /app/lib
COPY --from=build /src/app/target/extracted/drivers /app/drivers
COPY --from=build /src/app/target/extracted/app.jar /app/app.jar
COPY app/jvm.options /app/jvm.options
# For the JVMs of other services: an init container copies it from here (vtlab run --target kubernetes).
COPY --from=build /src/agent/target/vtlab-agent.jar /app/vtlab-agent.jar

# The ahead-of-time cache fits only the very JVM, jars and paths that it was trained with, so it is made in the image
# itself. JDKs older than 25 cannot make one; there the file of options is empty.
FROM app AS training
RUN mkdir /trained && touch /trained/java.options \
 && major=$(sed -n 's/^JAVA_VERSION="\([0-9]*\).*/\1/p' "$JAVA_HOME/release") \
 && if [ "$major" -ge 25 ]; then \
      java @/app/jvm.options -Xmx384m -XX:AOTCacheOutput=/trained/app.aot -Xlog:disable -Xlog:all=error \
        -cp /app/app.jar lab.virtualthreads.TrainingRun \
      && echo -XX:AOTCache=/app/app.aot >/trained/java.options; \
    fi

FROM app
ARG VERSION=0.3.0
LABEL org.opencontainers.image.title="virtual-threads-lab" \
      org.opencontainers.image.description="The service under test of the Virtual Threads Lab" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.licenses="Apache-2.0"
COPY --from=training /trained/ /app/
# By number, so that Kubernetes can see that it is not root.
USER 10001:10001
EXPOSE 8080 8081
# No shell in between: SIGTERM reaches the JVM.
ENTRYPOINT ["java", "@/app/java.options", "-jar", "/app/app.jar"]
