// _exit, _Exit and daemon of the program's own, which note that the process ends by its own will. They are called by their
// old names, so nothing is declared here.
#ifndef CPROCESSENDS_H
#define CPROCESSENDS_H
#endif
