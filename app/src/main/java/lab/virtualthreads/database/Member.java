package lab.virtualthreads.database;

/**
 * The part of a member that answers show. The account is a hash, and that of the password never leaves the database.
 */
record Member(long id, String name, String account) {

	/** The number of members with which data.sql fills the table: their ids go from 1 to it. */
	static final int COUNT = 100;

}
