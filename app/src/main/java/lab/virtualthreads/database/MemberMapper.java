package lab.virtualthreads.database;

import java.util.Optional;

import org.apache.ibatis.annotations.Mapper;
import org.apache.ibatis.annotations.Select;

@Mapper
interface MemberMapper {

	@Select("select id, name, account from lab_member where id = #{id}")
	Optional<Member> find(long id);

	/**
	 * Finds a member after a wait in the database that holds the connection.
	 * @param seconds the wait, from 0
	 */
	// In the list of columns, where it is evaluated once; a condition may be more often.
	@Select("select id, name, account, sleep(#{seconds}) from lab_member where id = #{id}")
	Optional<Member> findSlowly(long id, double seconds);

}
