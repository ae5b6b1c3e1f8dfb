/** What conditions and patterns need of the CEL library and its RE2: a module of its own, so that `cel.ts` can load it late. */
export {
  celEnv,
  celError,
  celFunc,
  celList,
  celMap,
  celMethod,
  CelScalar,
  isCelError,
  isCelList,
  isCelMap,
  listType,
  parse,
  plan,
} from "@bufbuild/cel";
export { RE2JS } from "@bufbuild/re2";
