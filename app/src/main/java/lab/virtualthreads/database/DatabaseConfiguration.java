package lab.virtualthreads.database;

import java.io.File;
import java.nio.file.Path;
import java.sql.Driver;
import java.time.Duration;
import java.util.Objects;
import java.util.Properties;

import com.zaxxer.hikari.HikariDataSource;
import org.apache.ibatis.session.ExecutorType;
import org.apache.ibatis.session.SqlSessionFactory;
import org.mybatis.spring.MyBatisExceptionTranslator;
import org.mybatis.spring.SqlSessionTemplate;

import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.boot.autoconfigure.condition.ConditionalOnWebApplication;
import org.springframework.boot.autoconfigure.condition.ConditionalOnWebApplication.Type;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.boot.jdbc.autoconfigure.DataSourceProperties;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.jdbc.datasource.SimpleDriverDataSource;
import org.springframework.jdbc.support.SQLExceptionSubclassTranslator;

/**
 * The pool of connections, where there is a database. Spring Boot's own would look for the driver on the class path;
 * its properties, meters and scripts are the same here.
 */
@Configuration(proxyBeanMethods = false)
@ConditionalOnProperty("spring.datasource.url")
@ConditionalOnWebApplication(type = Type.SERVLET)
@EnableConfigurationProperties(DataSourceProperties.class)
class DatabaseConfiguration {

	@Bean
	@ConfigurationProperties("spring.datasource.hikari")
	HikariDataSource dataSource(DataSourceProperties server, DatabaseProperties database) {
		String url = Objects.requireNonNull(server.getUrl());
		if (!url.startsWith("jdbc:mysql:")) {
			throw new OtherDatabaseFailureAnalyzer.OtherDatabaseException();
		}
		Path drivers = (database.drivers() != null) ? database.drivers()
				: besideTheJar();
		HikariDataSource pool = new HikariDataSource();
		pool.setDataSource(new Connections(ConnectorJ.load(drivers, database.driver()), url, server));
		return pool;
	}

	/**
	 * Finds the folder by the class path: a class from an ahead-of-time cache says where its jar was when the cache was
	 * trained.
	 */
	private static Path besideTheJar() {
		String first = System.getProperty("java.class.path").split(File.pathSeparator, 2)[0];
		return Path.of(first).toAbsolutePath().resolveSibling("drivers");
	}

	/**
	 * Creates the template with a translator that asks nothing. MyBatis's own would ask the database for its name when
	 * it fails, through the very pool that cannot reach it.
	 */
	@Bean
	SqlSessionTemplate sqlSessionTemplate(SqlSessionFactory factory) {
		return new SqlSessionTemplate(factory, ExecutorType.SIMPLE,
				new MyBatisExceptionTranslator(SQLExceptionSubclassTranslator::new, false));
	}

	/** The source of the connections that fill the pool. */
	private static final class Connections extends SimpleDriverDataSource {

		/**
		 * The time limit for making a connection, which goes before a connectTimeout of the URL. Where nothing answers
		 * at all, the operating system alone would keep trying for two minutes.
		 */
		private static final Duration CONNECT_TIMEOUT = Duration.ofSeconds(5);

		Connections(Driver driver, String url, DataSourceProperties server) {
			super(driver, url, server.getUsername(), server.getPassword());
			Properties properties = new Properties();
			properties.setProperty("connectTimeout", Long.toString(CONNECT_TIMEOUT.toMillis()));
			setConnectionProperties(properties);
		}

		/** Returns how long HikariCP's close waits for a connection that is being made; it warns if this says 0. */
		@Override
		public int getLoginTimeout() {
			return (int) CONNECT_TIMEOUT.toSeconds();
		}

	}

}
