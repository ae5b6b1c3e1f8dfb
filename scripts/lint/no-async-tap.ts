/**
 * Lint rule: an async function must not be tapped as a synchronous one.
 *
 * tapable never awaits what a function given to `tap` returns, and on a bail hook a promise counts as
 * an answer and skips every later tap. Where the hook's result type is narrow, the type check and
 * `no-misused-promises` see that already; this rule adds the hooks whose result type accepts anything.
 */

interface Node {
  readonly type: string;
}

interface CallNode extends Node {
  readonly callee: Node & { readonly computed?: boolean; readonly property?: Node & { readonly name?: string } };
  readonly arguments: readonly (Node & { readonly async?: boolean })[];
}

interface RuleContext {
  report(problem: { readonly node: Node; readonly message: string }): void;
}

const functionTypes = new Set(["ArrowFunctionExpression", "FunctionExpression"]);

const noAsyncTap = {
  create(context: RuleContext) {
    return {
      CallExpression(node: CallNode): void {
        const { callee } = node;
        if (callee.type !== "MemberExpression" || callee.computed === true || callee.property?.name !== "tap") return;
        for (const argument of node.arguments.slice(1)) {
          if (argument.async === true && functionTypes.has(argument.type)) {
            context.report({
              node: argument,
              message: "tap() never awaits: give an async function to tapPromise().",
            });
          }
        }
      },
    };
  },
};

export default { meta: { name: "reveille" }, rules: { "no-async-tap": noAsyncTap } };
