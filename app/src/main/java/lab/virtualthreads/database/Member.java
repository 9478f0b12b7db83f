package lab.virtualthreads.database;

/**
 * What the answers tell of a member. The account is a hash, and that of the password never leaves the database.
 */
record Member(long id, String name, String account) {

	/** How many members data.sql fills the table with: their ids go from 1 to it. */
	static final int COUNT = 100;

}
