import Lean
import Lean.Replay

/-!
Compares an answer's compiled module with a reference: of each theorem that is asked for, its type and all that its type rests on, as terms,
and the axioms behind its proof. No text of the answer is read here, and nothing of it is run.

`lean --run Compare.lean REFERENCE ANSWER FILE FREE,… ASKED,…` prints one JSON object a line: `{"name", "stated", "why", "axioms"}` for each
name that is asked for, then `{"end": true}`. FILE is the answer's `.olean`; FREE are the program's own definitions, of which only the types
must agree. With `-` for REFERENCE there is nothing to compare with, and every theorem counts.
-/

open Lean

structure Sides where
  reference : Environment
  answer : Environment
  referenceModule : Name
  free : List String

/-- Pairs of names that were compared, or are being compared: a second look takes them for equal. -/
abbrev M := ReaderT Sides (StateT (List (Name × Name)) (Except String))

def moduleOf (env : Environment) (name : Name) : Option Name := do
  let index ← env.getModuleIdxFor? name
  env.header.moduleNames[index.toNat]?

/-- What the compiler makes of a definition besides, such as the functions of its patterns: numbered in the order of a file. -/
def isAuxiliary : Name → Bool
  | .str _ part => part.startsWith "match_" || part.startsWith "_" || part.startsWith "proof_"
  | .num _ _ => true
  | .anonymous => false

def lastOf : Name → String
  | .str _ part => part
  | _ => ""

def differ {α : Type} (name : Name) (why : String) : M α := throw s!"`{name}` {why}"

mutual

partial def sameExpr (owner : Name) (a b : Expr) : M Unit := do
  match a, b with
  | .mdata _ x, y => sameExpr owner x y
  | x, .mdata _ y => sameExpr owner x y
  | .const m us, .const n vs =>
    unless us == vs do differ owner s!"uses `{m}` at other universes"
    sameConst m n
  | .app f x, .app g y => do
    sameExpr owner f g
    sameExpr owner x y
  | .lam _ t x _, .lam _ u y _ => do
    sameExpr owner t u
    sameExpr owner x y
  | .forallE _ t x _, .forallE _ u y _ => do
    sameExpr owner t u
    sameExpr owner x y
  | .letE _ t x p _, .letE _ u y q _ => do
    sameExpr owner t u
    sameExpr owner x y
    sameExpr owner p q
  | .proj s i x, .proj r j y => do
    unless i == j do differ owner "takes another field"
    sameConst s r
    sameExpr owner x y
  | x, y => unless x == y do differ owner "is another term"

partial def sameConst (m n : Name) : M Unit := do
  if (← get).contains (m, n) then return
  modify ((m, n) :: ·)
  let sides ← read
  let some a := sides.reference.find? m | differ m "is not in the reference"
  let some b := sides.answer.find? n | differ m "is not defined"
  let home := moduleOf sides.reference m
  if home != some sides.referenceModule then
    unless m == n && moduleOf sides.answer n == home do differ m "is not the library's"
    return
  unless m == n || (isAuxiliary m && isAuxiliary n) do differ m s!"is `{n}` in its place"
  unless a.levelParams == b.levelParams do differ m "has other universes"
  sameExpr m a.type b.type
  if sides.free.contains (lastOf m) then
    match b with
    | .defnInfo _ | .opaqueInfo _ => return
    | _ => differ m "is no definition"
  match a, b with
  | .defnInfo x, .defnInfo y => sameExpr m x.value y.value
  | .opaqueInfo x, .opaqueInfo y => sameExpr m x.value y.value
  | .thmInfo _, .thmInfo _ => return
  | .inductInfo x, .inductInfo y => do
    unless x.numParams == y.numParams && x.numIndices == y.numIndices && x.ctors == y.ctors do
      differ m "is another inductive type"
    for constructor in x.ctors do sameConst constructor constructor
  | .ctorInfo x, .ctorInfo y => do
    unless x.cidx == y.cidx do differ m "is another constructor"
    sameConst x.induct y.induct
  | .recInfo x, .recInfo y => do
    for (p, q) in x.all.zip y.all do sameConst p q
  | .quotInfo _, .quotInfo _ => return
  | _, _ => differ m "is a declaration of another kind"

end

/-- The theorem of a name, in both environments, states the same. -/
def sameTheorem (name : Name) : M Unit := do
  let sides ← read
  let some b := sides.answer.find? name | differ name "is not stated"
  let .thmInfo _ := b | differ name "is no theorem"
  if sides.referenceModule.isAnonymous then return
  let some a := sides.reference.find? name | differ name "is not in the reference"
  unless a.levelParams == b.levelParams do differ name "has other universes"
  sameExpr name a.type b.type

def axiomsOf (env : Environment) (name : Name) : IO (Array Name) := do
  let context : Core.Context := { fileName := "", fileMap := default }
  Prod.fst <$> Core.CoreM.toIO (collectAxioms name) context { env }

/-- Checks every declaration of a compiled file a second time, by the kernel alone. -/
def replayed (file : System.FilePath) : IO Unit := do
  let (data, _) ← readModuleData file
  let base ← importModules data.imports {} 0
  let mut fresh := {}
  for name in data.constNames, info in data.constants do
    fresh := fresh.insert name info
  discard <| base.replay fresh

def names (written : String) : List Name :=
  (written.splitOn ",").filterMap fun part => if part.isEmpty then none else some part.toName

def say (fields : List (String × Json)) : IO Unit := IO.println (Json.mkObj fields).compress

unsafe def main (arguments : List String) : IO UInt32 := do
  let [reference, answer, file, free, asked] := arguments
    | throw <| IO.userError "REFERENCE ANSWER FILE FREE ASKED"
  initSearchPath (← findSysroot)
  try
    replayed file
  catch err =>
    say [("refused", toString err)]
    say [("end", true)]
    return 0
  let answerEnv ← importModules #[{ module := answer.toName }] {} 0
  let compared := reference != "-"
  let referenceEnv ← if compared then importModules #[{ module := reference.toName }] {} 0 else pure answerEnv
  let sides : Sides :=
    { reference := referenceEnv, answer := answerEnv, free := (names free).map lastOf
      referenceModule := if compared then reference.toName else .anonymous }
  for name in names asked do
    match ((sameTheorem name).run sides).run [] with
    | .error why => say [("name", toString name), ("stated", false), ("why", why), ("axioms", Json.arr #[])]
    | .ok _ =>
      let axioms := (← axiomsOf answerEnv name).map fun a => Json.str (toString a)
      say [("name", toString name), ("stated", true), ("why", ""), ("axioms", Json.arr axioms)]
  say [("end", true)]
  return 0
