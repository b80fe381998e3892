# bash reads this at the first completion; the program itself knows its commands and options.
. <(lambda-ftp completion)
