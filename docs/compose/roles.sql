\getenv password DATABASE_PASSWORD
\getenv owner_password DATABASE_OWNER_PASSWORD
CREATE ROLE troco_owner LOGIN PASSWORD :'owner_password';
CREATE ROLE troco LOGIN PASSWORD :'password';
CREATE DATABASE troco OWNER troco_owner;
