"""Frames of a stack, and what they belong to: the data by which ``vtlab.analysis.dumps.places`` reads thread dumps.

Every entry is the beginning of a frame's class and method. A library that is missing in ``LIBRARIES`` counts as the
service's code: a report names its lines then, and what it waits for only where that is of the JDK.
"""

from __future__ import annotations

from vtlab.model.records import Activity

#: Frames of a request that is being served: Tomcat, Jetty 12, and what both lead to.
REQUEST = (
    "org.apache.catalina.connector.CoyoteAdapter",
    "org.eclipse.jetty.server.Server.handle",
    "jakarta.servlet.http.",
    "org.springframework.web.servlet.",
)
#: Virtual threads of Tomcat and Jetty, one for each request. One without any frame has not begun: it waits for a
#: carrier.
REQUEST_THREAD = ("tomcat-handler-", "jetty-")
#: The server's own pool of threads, Tomcat's and Jetty's.
SERVER_POOL = (
    "org.apache.tomcat.util.threads.ThreadPoolExecutor.runWorker",
    "org.eclipse.jetty.util.thread.QueuedThreadPool$Runner.run",
)
#: What a thread of the server's pool does that has no request, in Tomcat and Jetty.
IDLE = (
    "org.apache.tomcat.util.threads.ThreadPoolExecutor.getTask",
    "org.eclipse.jetty.util.thread.QueuedThreadPool$Runner.idleJobPoll",
)
#: Virtual threads of Jetty that have a request and must wait until fewer than ``threads.max`` run.
ADMISSION = ("org.eclipse.jetty.util.thread.VirtualThreadPool.",)
#: Frames of a request of the monitoring, not of the load.
MONITORING = ".actuate.endpoint."
#: Frames of a task that somebody waits for, and of one that comes by the clock.
TASK = (
    "java.util.concurrent.FutureTask.run",
    "java.util.concurrent.ThreadPoolExecutor.runWorker",
    "java.util.concurrent.CompletableFuture$Async",
    "java.util.concurrent.ForkJoinTask.doExec",
    "java.lang.VirtualThread.run",
)
SCHEDULED = "java.util.concurrent.ScheduledThreadPoolExecutor$ScheduledFutureTask."

JDK = ("java.", "javax.", "jdk.", "sun.", "com.sun.")
#: Code of the service all the same.
SAMPLES = ("org.springframework.samples.",)
LIBRARIES = (
    "brave.", "ch.qos.logback.", "com.alibaba.", "com.amazonaws.", "com.azure.", "com.clickhouse.", "com.datastax.",
    "com.fasterxml.", "com.github.benmanes.", "com.google.", "com.hazelcast.", "com.ibm.", "com.mchange.",
    "com.microsoft.", "com.mongodb.", "com.mysql.", "com.netflix.", "com.rabbitmq.", "com.squareup.", "com.zaxxer.",
    "feign.", "freemarker.", "graphql.", "groovy.", "io.github.resilience4j.", "io.grpc.", "io.jsonwebtoken.",
    "io.lettuce.", "io.micrometer.", "io.netty.", "io.opentelemetry.", "io.prometheus.", "io.r2dbc.",
    "io.undertow.", "jakarta.", "kotlin.", "kotlinx.", "net.bytebuddy.", "net.sf.", "okhttp3.", "okio.", "ognl.",
    "oracle.", "org.antlr.", "org.apache.", "org.aspectj.", "org.eclipse.", "org.elasticsearch.", "org.flywaydb.",
    "org.glassfish.", "org.h2.", "org.hibernate.", "org.hsqldb.", "org.jboss.", "org.jooq.", "org.junit.",
    "org.mariadb.", "org.mybatis.", "org.opensearch.", "org.postgresql.", "org.quartz.", "org.redisson.",
    "org.slf4j.", "org.springframework.", "org.sqlite.", "org.thymeleaf.", "org.xerial.", "org.yaml.", "reactor.",
    "redis.clients.", "retrofit2.", "scala.", "software.amazon.", "tools.jackson.", "zipkin2.",
)  # fmt: skip
#: Classes, or lambdas' and proxies' parts of them, that nobody wrote.
GENERATED = ("$$", "$Proxy", "<generated>")

#: Frames that wait for a connection of a pool: prefix, activity, what a report calls it. As the next two tables, in
#: the order in which they are tried.
POOLS: tuple[tuple[str, Activity, str], ...] = (
    ("com.zaxxer.hikari.util.ConcurrentBag.borrow", "db-pool", "HikariCP"),
    ("com.zaxxer.hikari.pool.HikariPool.getConnection", "db-pool", "HikariCP"),
    ("org.apache.tomcat.jdbc.pool.ConnectionPool.borrowConnection", "db-pool", "Tomcat's JDBC pool"),
    ("org.apache.commons.dbcp2.PoolingDataSource.getConnection", "db-pool", "DBCP"),
    ("com.mchange.v2.resourcepool.", "db-pool", "c3p0"),
    ("com.alibaba.druid.pool.DruidDataSource.", "db-pool", "Druid"),
    ("oracle.ucp.", "db-pool", "UCP"),
    ("org.apache.hc.core5.pool.", "client-pool", "Apache HttpClient"),
    ("org.apache.hc.client5.http.impl.io.PoolingHttpClientConnectionManager$1.get", "client-pool", "Apache HttpClient"),
    ("org.apache.http.pool.", "client-pool", "Apache HttpClient"),
    ("org.apache.http.impl.conn.PoolingHttpClientConnectionManager.lease", "client-pool", "Apache HttpClient"),
    ("redis.clients.jedis.util.Pool.getResource", "client-pool", "Jedis"),
    (
        "org.springframework.data.redis.connection.lettuce.LettucePoolingConnectionProvider.getConnection",
        "client-pool",
        "Lettuce",
    ),
)
#: A database inside the JVM: whatever goes on in it is the database's.
EMBEDDED: tuple[tuple[str, Activity, str], ...] = (
    ("org.h2.", "database", "H2"),
    ("org.hsqldb.", "database", "HSQLDB"),
    ("org.apache.derby.", "database", "Derby"),
    ("org.sqlite.", "database", "SQLite"),
)
#: What talks to another process: a thread that waits in it waits for that process.
REMOTE: tuple[tuple[str, Activity, str], ...] = (
    ("com.mysql.", "database", "Connector/J"),
    ("org.mariadb.jdbc.", "database", "MariaDB Connector/J"),
    ("org.postgresql.", "database", "pgJDBC"),
    ("oracle.jdbc.", "database", "Oracle's driver"),
    ("oracle.net.", "database", "Oracle's driver"),
    ("com.microsoft.sqlserver.", "database", "SQL Server's driver"),
    ("com.ibm.db2.", "database", "Db2's driver"),
    ("com.clickhouse.", "database", "ClickHouse's driver"),
    ("com.mongodb.", "database", "MongoDB's driver"),
    ("com.datastax.", "database", "Cassandra's driver"),
    ("org.apache.hc.", "downstream", "Apache HttpClient"),
    ("org.apache.http.", "downstream", "Apache HttpClient"),
    ("jdk.internal.net.http.", "downstream", "java.net.http.HttpClient"),
    ("sun.net.www.", "downstream", "HttpURLConnection"),
    ("com.sun.jndi.", "downstream", "LDAP"),
    ("okhttp3.", "downstream", "OkHttp"),
    ("org.eclipse.jetty.client.", "downstream", "Jetty's HttpClient"),
    ("reactor.", "downstream", "Reactor"),
    ("io.grpc.", "downstream", "gRPC"),
    ("io.lettuce.", "downstream", "Lettuce"),
    ("redis.clients.", "downstream", "Jedis"),
    ("org.redisson.", "downstream", "Redisson"),
    ("org.apache.kafka.", "downstream", "Kafka"),
    ("com.rabbitmq.", "downstream", "RabbitMQ"),
    ("software.amazon.", "downstream", "the AWS SDK"),
)  # fmt: skip
#: The container's own side of a connection: a thread that waits there waits for the client.
CLIENT = ("org.apache.tomcat.util.net.", "org.apache.coyote.", "org.eclipse.jetty.io.", "org.eclipse.jetty.server.")

SOCKET = "sun.nio.ch."
FILES = ("sun.nio.ch.File", "sun.nio.ch.UnixFile", "java.io.FileInputStream.", "java.io.FileOutputStream.",
         "java.io.RandomAccessFile.")  # fmt: skip
LOCKS = tuple(
    f"java.util.concurrent.{name}"
    for name in ("Semaphore.", "locks.ReentrantLock", "locks.ReentrantReadWriteLock", "locks.StampedLock")
)
#: A lock of somebody's own has this as its outermost frame of the JDK.
QUEUED = "java.util.concurrent.locks.AbstractQueuedSynchronizer."
TASKS = (
    "java.util.concurrent.FutureTask.",
    "java.util.concurrent.CompletableFuture.",
    "java.util.concurrent.ForkJoinTask.",
    "java.util.concurrent.ExecutorCompletionService.",
    "java.util.concurrent.AbstractExecutorService.",
    "java.util.concurrent.ThreadPerTaskExecutor.",
    "java.util.concurrent.ThreadPoolExecutor.awaitTermination",
    "java.util.concurrent.StructuredTaskScope",
    "jdk.internal.misc.ThreadFlock.",
)
#: The innermost frame of a thread that does not run, for a JDK that writes no state.
NOT_RUNNING = (
    "jdk.internal.misc.Unsafe.park",
    "java.lang.VirtualThread.park",
    "java.lang.VirtualThread.sleep",
    "java.lang.VirtualThread.yieldContinuation",
    "java.lang.Thread.sleep",
    "java.lang.Object.wait",
)
