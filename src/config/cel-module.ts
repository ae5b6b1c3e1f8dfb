/** What conditions need of the CEL library: a module of its own, so that `cel.ts` can load it late. */
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
