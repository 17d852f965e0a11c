// kernel.walk( is no code here.
void first() { kernel.walk([](Operation *op) {}); }
void second(Operation *op) { use(op->getUsers()); }
static int count;
static const int constant = 1;
static Value helper(Emitter &b) { return b.i64(0); }
