-- Any number of instances may run this at once, and again.
create table if not exists lab_member (
  id int not null primary key,
  name varchar(100) not null,
  account char(64) character set ascii not null,
  password_hash char(60) character set ascii not null
);
