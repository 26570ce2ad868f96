;; A hook as a component, for tests: they put their own text where a block comment names what may stand there.
(component
  (;IMPORTS;)
  (core module $code
    (;CORE IMPORTS;)
    (memory (export "memory") 2)
    ;; Where the next string of the caller goes; answers are below.
    (global $free (mut i32) (i32.const 65536))
    (;DATA;)
    (func (export "realloc") (param $old i32) (param $size i32) (param $align i32) (param $wanted i32) (result i32)
      (local $start i32)
      (local.set $start (i32.and (i32.add (global.get $free) (i32.const 7)) (i32.const -8)))
      (global.set $free (i32.add (local.get $start) (local.get $wanted)))
      (block $fits
        (loop $grow
          (br_if $fits (i32.ge_u (i32.shl (memory.size) (i32.const 16)) (global.get $free)))
          (br_if $grow (i32.ne (memory.grow (i32.const 16)) (i32.const -1))))
        unreachable)
      (local.get $start))
    ;; The function's result as it lies in memory: 0 for ok or 1 for an error, and the text.
    (func $result (param $case i32) (param $text i32) (param $length i32) (result i32)
      (i32.store (i32.const 0) (local.get $case))
      (i32.store (i32.const 4) (local.get $text))
      (i32.store (i32.const 8) (local.get $length))
      (i32.const 0))
    (;FUNCTIONS;)
    (func (export "handle") (param $event i32) (param $size i32) (result i32)
      (;BODY;)
      unreachable))
  (;INSTANCE;)
  (func $handle (param "event" string) (result (result string (error string)))
    (canon lift (core func $core "handle") (memory (core memory $core "memory")) (realloc (core func $core "realloc"))))
  (instance $handler (export "handle" (func $handle)))
  (export "shellgate:hook/handler@1.0.0" (instance $handler)))
