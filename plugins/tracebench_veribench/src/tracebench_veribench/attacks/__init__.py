"""Files that look proven and are not, to be refused or to earn no more than their honest part."""
