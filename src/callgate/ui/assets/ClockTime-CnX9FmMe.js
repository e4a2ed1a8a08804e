<<<<<<<< HEAD:src/callgate/ui/assets/ClockTime-CnX9FmMe.js
import{J as e,M as t,T as n,Z as r,b as i}from"./vue-z8I6egBS.js";import{I as a,R as o}from"./parts-B-UrauFC.js";var s=[`datetime`,`title`],c=n({__name:`ClockTime`,props:{at:{}},setup(n){return(c,l)=>(t(),i(`time`,{class:`font-mono tabular-nums`,datetime:n.at??void 0,title:e(o)(n.at)},r(e(a)(n.at)),9,s))}});export{c as t};
========
import{J as e,M as t,T as n,Z as r,b as i}from"./vue-z8I6egBS.js";import{I as a,R as o}from"./parts-DcLpXwll.js";var s=[`datetime`,`title`],c=n({__name:`ClockTime`,props:{at:{}},setup(n){return(c,l)=>(t(),i(`time`,{class:`font-mono tabular-nums`,datetime:n.at??void 0,title:e(o)(n.at)},r(e(a)(n.at)),9,s))}});export{c as t};
>>>>>>>> deploy:src/callgate/ui/assets/ClockTime-BjfEHFII.js
