<<<<<<<< HEAD:src/callgate/ui/assets/TimeAgo-D0SOHfpY.js
import{J as e,M as t,T as n,Z as r,b as i,g as a}from"./vue-z8I6egBS.js";import{F as o,P as s,R as c}from"./parts-B-UrauFC.js";import{t as l}from"./useNow-L57PFCdh.js";var u=[`datetime`,`title`],d=n({__name:`TimeAgo`,props:{at:{},age:{type:Boolean}},setup(n){let d=n,f=l(),p=a(()=>(d.age?s:o)(d.at,f.value));return(a,o)=>(t(),i(`time`,{class:`tabular-nums`,datetime:n.at??void 0,title:e(c)(n.at)},r(p.value),9,u))}});export{d as t};
========
import{J as e,M as t,T as n,Z as r,b as i,g as a}from"./vue-z8I6egBS.js";import{F as o,P as s,R as c}from"./parts-DcLpXwll.js";import{t as l}from"./useNow-L57PFCdh.js";var u=[`datetime`,`title`],d=n({__name:`TimeAgo`,props:{at:{},age:{type:Boolean}},setup(n){let d=n,f=l(),p=a(()=>(d.age?s:o)(d.at,f.value));return(a,o)=>(t(),i(`time`,{class:`tabular-nums`,datetime:n.at??void 0,title:e(c)(n.at)},r(p.value),9,u))}});export{d as t};
>>>>>>>> deploy:src/callgate/ui/assets/TimeAgo-Chic4607.js
